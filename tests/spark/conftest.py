"""One Spark session for all tests of this folder (and each process of a run), as a user would start it on a laptop."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Tests are not a package, so what they share is imported from beside them.
sys.path.append(str(Path(__file__).parent))

OF_PYSPARK = (
    # Sockets and files to the JVM are left to the garbage collector, which finds them in whichever test is running.
    "ignore:unclosed:ResourceWarning",
    "ignore::DeprecationWarning:pyspark",
    "ignore::FutureWarning:pyspark",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What pyspark itself warns of is not for us to mend; what we warn of is an error as elsewhere."""
    for item in items:
        if item.nodeid.startswith("tests/spark/"):
            for warning in OF_PYSPARK:
                item.add_marker(pytest.mark.filterwarnings(warning), append=False)


def need_java() -> None:
    """Without Java these tests fail: to skip them would leave a release untested without telling."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or subprocess.run([java, "-version"], capture_output=True, check=False).returncode:
        pytest.fail("Spark needs Java 17 or newer: run scripts/java.sh, or set JAVA_HOME", pytrace=False)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores."""
    need_java()
    from pyspark.sql import SparkSession

    import cepheid as cep

    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = cep.spark.configure(SparkSession.builder.master("local[2]").appName("cepheid tests"))
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.streaming.checkpointLocation": str(folder / "checkpoints"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.log.level": "OFF",  # an error that a test expects is an exception too
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
