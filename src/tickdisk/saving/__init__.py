"""Two rooms about how a game saves its state: `checkpoint` simulates the algorithms, and `store` runs them for real."""
