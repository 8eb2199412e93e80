"""The window: the only place that imports Polyscope. It draws Frames and queues Requests, nothing else."""
