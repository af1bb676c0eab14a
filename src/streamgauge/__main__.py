"""``python -m streamgauge``: the command line, where its script is not on the PATH."""

from streamgauge.cli.main import main

if __name__ == "__main__":
    main()
