"""An author's own measurements: files that are read beside a study and join its results."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.measurements import measurement_files as measurement_files
    from vazao.measurements.measured import Measured as Measured
    from vazao.measurements.measurement_files import joined as joined, kept_measurements as kept_measurements
    from vazao.measurements.readings import name_of as name_of
else:
    __getattr__, __dir__ = lazy.attached(__name__)
