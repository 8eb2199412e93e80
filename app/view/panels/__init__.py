"""One panel a file. A panel reads the Frame through ViewState and queues Requests; it never touches the engine."""
