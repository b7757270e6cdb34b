"""The same for diagnoses, which import more than queries need."""

from cepheid.api.diagnosing import read_sample
from cepheid.api.diagnosing_part import diagnose_part

__all__ = ["diagnose_part", "read_sample"]
