"""Tables of other programs: taken over, shown in their old shape, and given back."""
