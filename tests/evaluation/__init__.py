"""The evaluation, on small data made by hand."""
