"""Java of this project, kept as ``.java`` files and compiled against the jars that a process runs with.

=================  =====================================================================================
module             what
=================  =====================================================================================
``sources``        which files belong together, and the digest of all that their classes depend on
``class_cache``    compiled classes on disk, shared by all processes of a user
``compiler``       the JDK's own compiler, in this process
``loading``        compiles, or takes from the cache, and loads
=================  =====================================================================================
"""

from jvm_bridge.java.compiler import CompileError
from jvm_bridge.java.loading import load_java, load_java_apart
from jvm_bridge.java.sources import JavaSources

__all__ = ["CompileError", "JavaSources", "load_java", "load_java_apart"]
