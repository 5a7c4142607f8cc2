"""`python -m generator` is `tandem`."""

from generator.cli.main import tandem

if __name__ == "__main__":
    tandem()
