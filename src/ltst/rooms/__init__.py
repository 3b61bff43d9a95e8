"""One room per noun: what is stored and how it is asked for. No room knows another; vectors come in from outside."""
