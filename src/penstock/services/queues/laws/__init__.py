"""How an alias queue divides rows among its destinations."""
