package io.pinotplugins.rows;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.readers.GenericRow;

/**
 * Converts the values of rows to the types of the table's columns, so that Pinot's {@code DataTypeTransformer}, which
 * would change values that do not fit, has nothing left to do.
 */
public final class ExactValues implements InvocationHandler {
  private final List<ExactColumn> _columns = new ArrayList<>();
  private final Set<String> _names = new LinkedHashSet<>();

  /**
   * @param columns the table's columns
   * @param computed names of those that a transform of the table fills
   */
  public ExactValues(Collection<FieldSpec> columns, Set<String> computed) {
    for (FieldSpec column : columns) {
      _columns.add(new ExactColumn(column, computed.contains(column.getName())));
      _names.add(column.getName());
    }
  }

  /** Converts a row in place. */
  public void convert(GenericRow row) {
    for (ExactColumn column : _columns) {
      Object value = row.getValue(column.name);
      if (value != null) {
        row.putValue(column.name, column.exact(value));
      }
    }
  }

  /** Returns this as Pinot's {@code RecordTransformer}, whose package and methods depend on the version. */
  public Object asTransformer(Class<?> recordTransformer) {
    return Proxy.newProxyInstance(recordTransformer.getClassLoader(), new Class<?>[]{recordTransformer}, this);
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) {
    switch (method.getName()) {
      case "transform":
        if (arguments[0] instanceof List) {
          ((List<?>) arguments[0]).forEach(row -> convert((GenericRow) row));
        } else {
          convert((GenericRow) arguments[0]);
        }
        return method.getReturnType() == void.class ? null : arguments[0];
      case "getInputColumns":
        return _names;
      case "isNoOp":
        return false;
      case "hashCode":
        return System.identityHashCode(proxy);
      case "equals":
        return proxy == arguments[0];
      case "toString":
        return "exact values of " + _names;
      default:
        return null;
    }
  }
}
