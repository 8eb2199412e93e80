"""Entry point: the same as the `tacktile` command."""

from app.cli import main

if __name__ == "__main__":
    main()
