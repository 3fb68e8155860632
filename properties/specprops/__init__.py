"""The property suite: what every subject of a contract must meet. A module per contract; pytest collects them, specverify runs them."""
