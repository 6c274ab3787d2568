"""Java code of this project: ``.java`` files, compiled against the jars that a process uses.

=================  =====================================================================================
module             content
=================  =====================================================================================
``sources``        the files of a package, and a digest of everything that their classes depend on
``class_cache``    compiled classes on disk, shared by all processes of a user
``compiler``       the JDK's own compiler, in this process
``loading``        compiles classes or reads them from the cache, and loads them
=================  =====================================================================================
"""

from jvm_bridge.java.compiler import CompileError
from jvm_bridge.java.loading import JavaSources, load_java, load_java_apart

__all__ = ["CompileError", "JavaSources", "load_java", "load_java_apart"]
