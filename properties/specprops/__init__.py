"""The property suite: what every subject of a contract must meet. A module per contract bears its name, and large properties have a module of their own;
`properties.json` says which lies where, so that an audit imports those alone. pytest collects them, specverify runs them.
"""
