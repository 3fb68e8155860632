"""Parts of the entries on FasterDecoding/REST: how what they declare is called. `specverify_subjects.py` declares."""
