"""Balancing laws: how an alias queue divides messages among its destinations."""
