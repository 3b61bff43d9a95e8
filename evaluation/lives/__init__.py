"""Made-up people over a year, with what changed, was corrected and was never said: `python -m evaluation lives`."""
