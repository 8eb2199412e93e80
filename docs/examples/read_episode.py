"""Reading a recorded episode: python docs/examples/read_episode.py recordings/episode_0001.h5

Without a file it records twenty steps of a scene first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from app.export import ExportOptions, demonstrations
from app.record import Episode, list_episodes


def record_one(folder: Path) -> Path:
    """What `tacktile run tactile_press --headless --steps 20 --record FOLDER` does."""
    from app.runs import RunOptions, start_run

    options = RunOptions("tactile_press", headless=True, steps=20, record=folder, no_pictures=True, compute="cpu")
    start_run(options, Console(quiet=True))
    return list_episodes(folder)[0].path


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else record_one(Path(tempfile.mkdtemp()))
    with Episode(path) as episode:
        print(f"{episode.name}: {episode.num_frames} steps in {episode.scene_name}, label {episode.label}")

        # three clocks; only the simulated one is a time for training
        simulated, wall = np.ptp(episode.time.simulated), np.ptp(episode.time.wall)
        print(f"{simulated:.2f} s simulated, {wall:.2f} s on the wall")

        # T actions between T + 1 states; nothing is read before it is asked for
        targets = episode.actions["body_transform"]  # (T, worlds, driven bodies, 4, 4)
        print(f"targets of {', '.join(episode.layout['driven'])}: {targets.shape}")
        print(f"states: {len(episode.states)} rows, the first with {len(episode.states[0])} points")
        print(f"signals: {', '.join(episode.signals)}")

        # the same as what a policy is trained on: vectors with a name for every number
        (demo,) = demonstrations(episode, ExportOptions())
        actions, names = demo.action
        print(f"demonstration: {len(demo)} states, {len(actions)} actions of {', '.join(names)}")
        pressed = np.linalg.norm(demo.observations["pad_force"][0], axis=1) if "pad_force" in demo.observations else []
        print(f"largest force on the pad: {max(pressed, default=0.0):.3f} N")

        for frame, text in episode.events():
            print(f"before step {frame}: {text}")
        for finding in episode.validate():
            print(f"{finding.severity}: {finding.text}")


if __name__ == "__main__":
    main()
