"""Adopts tables of other programs: copies them, shows them in their old shape as views, and gives them back."""
