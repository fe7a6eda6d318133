"""Languages of reports: sentences by key, numbers, and a study's own recurring words."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.words.language import (
        DEFAULT as DEFAULT,
        ENGLISH as ENGLISH,
        LANGUAGES as LANGUAGES,
        Words as Words,
        checked as checked,
    )
else:
    __getattr__, __dir__ = lazy.attached(__name__)
