"""The reference as specverify's subjects: it is audited like anybody's code."""

import specref
import specverify as sv

DTYPES = ("float64", "float32", "float16", "bfloat16")

sv.subject("sample", dtypes=DTYPES, batch=True, seed="generator", refuses=True)(specref.sample)
sv.subject("verify_chain", rule="standard", dtypes=DTYPES, seed="generator", refuses=True)(specref.verify_chain)
