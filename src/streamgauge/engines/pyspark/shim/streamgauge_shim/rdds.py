"""What the script writes from an RDD."""

from __future__ import annotations

import re

from streamgauge_shim import SHIM
from streamgauge_shim.targets import refuse_write, written_path
from streamgauge_shim.wrapping import bind, wrap

TO_FILES = (
    *("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile"),
    *("saveAsHadoopFile", "saveAsNewAPIHadoopFile"),
)
READERS = (
    *("textFile", "wholeTextFiles", "pickleFile", "binaryFiles", "binaryRecords", "sequenceFile"),
    *("hadoopFile", "newAPIHadoopFile"),
)
TO_ANYTHING = ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset")
FILE_OUTPUT = re.compile(
    r"org\.apache\.hadoop\.(mapred|mapreduce\.lib\.output)\.(Text|SequenceFile|MapFile)OutputFormat"
)


def patch_rdd(cls):
    for name in TO_FILES:
        patch_file_method(cls, name)
    for name in TO_ANYTHING:
        patch_dataset_method(cls, name)


def patch_file_method(cls, name):
    @wrap(cls, name)
    def to_files(original, self, *args, **kwargs):
        call = bind(original, self, *args, **kwargs)
        # Others, such as those of Elasticsearch and HBase, take their target from their settings.
        output_format = str(call.arguments.get("outputFormatClass") or "")
        if output_format and not FILE_OUTPUT.fullmatch(output_format) and not SHIM.is_allowed(output_format):
            refuse_write(f"a Hadoop output of format {output_format}", output_format)
        call.arguments["path"] = written_path(call.arguments["path"])
        return original(*call.args, **call.kwargs)


def patch_dataset_method(cls, name):
    @wrap(cls, name)
    def to_dataset(original, self, *args, **kwargs):
        SHIM.refuse(
            f"refused: the script writes by {name}, whose settings name the target",
            "use a writer of DataFrames, which can be redirected",
        )


def patch_context_reader(cls, name):
    @wrap(cls, name)
    def from_files(original, self, path, *args, **kwargs):
        # Several paths are separated by commas.
        return original(self, ",".join(SHIM.input_path(one) for one in str(path).split(",")), *args, **kwargs)
