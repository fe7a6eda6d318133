"""Fuzzer of scenarios and studies: any untrusted file must be refused with a clear message, or run correctly."""
