"""`python -m tacktile`: the same as the `tacktile` command."""

from tacktile import main

if __name__ == "__main__":
    main()
