package io.pinotplugins.rows;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.pinot.spi.data.readers.GenericRow;

/** A step of ours among Pinot's {@code RecordTransformer}s, whose package and methods depend on the version. */
public final class RowStep implements InvocationHandler {
  private final Consumer<GenericRow> _step;
  private final Set<String> _columns;

  private RowStep(Consumer<GenericRow> step, Set<String> columns) {
    _step = step;
    _columns = columns;
  }

  /** Returns a transformer that changes or checks rows in place, and reads these columns. */
  public static Object of(Class<?> recordTransformer, Consumer<GenericRow> step, Set<String> columns) {
    return Proxy.newProxyInstance(recordTransformer.getClassLoader(), new Class<?>[]{recordTransformer},
        new RowStep(step, columns));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) {
    switch (method.getName()) {
      case "transform":
        if (arguments[0] instanceof List) {
          ((List<?>) arguments[0]).forEach(row -> _step.accept((GenericRow) row));
        } else {
          _step.accept((GenericRow) arguments[0]);
        }
        return method.getReturnType() == void.class ? null : arguments[0];
      case "getInputColumns":
        return _columns;
      case "isNoOp":
        return false;
      case "hashCode":
        return System.identityHashCode(proxy);
      case "equals":
        return proxy == arguments[0];
      case "toString":
        return _step.getClass().getSimpleName() + " of " + _columns;
      default:
        return null;
    }
  }
}
