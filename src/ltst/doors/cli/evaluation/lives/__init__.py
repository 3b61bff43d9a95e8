"""Lives: made-up people over a year, with what changed, was corrected and was never said; `ltst eval lives`."""
