package io.pinotplugins.expressions;

import io.pinotplugins.rows.Argument;
import io.pinotplugins.rows.ExactValues;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.pinot.segment.local.recordtransformer.DataTypeTransformer;
import org.apache.pinot.segment.local.recordtransformer.ExpressionTransformer;
import org.apache.pinot.spi.data.readers.GenericRow;

/**
 * Runs Pinot's own transforms, filter and conversions over rows that only have the columns which these read. Used by
 * one thread.
 */
public final class Expressions {
  private static final int MAX_UNCERTAIN = 4;

  private final ExpressionTransformer _transforms;
  private final MethodHandle _filter;
  private final boolean _convertsDropped;
  private final ExactValues _exact;
  private final DataTypeTransformer _types;
  private final Map<String, Argument> _arguments = new LinkedHashMap<>();
  private final List<String> _columns = new ArrayList<>();
  private final List<Result> _results = new ArrayList<>();
  private final Set<String> _asText = new HashSet<>();
  private final GenericRow _row = new GenericRow();
  private final GenericRow _ofTexts = new GenericRow();
  private boolean[] _dropped;

  /**
   * @param transforms the transforms of some columns
   * @param filter Pinot's evaluator, true for rows that are dropped; null if there is no filter. Its interface is in
   *     another package since Pinot 1.6
   * @param convertsDropped whether this Pinot converts the values of rows that it drops
   * @param exact converts the requested columns, except for what it leaves to Pinot
   * @param types Pinot's own conversion of these columns
   */
  public Expressions(ExpressionTransformer transforms, Object filter, boolean convertsDropped, ExactValues exact,
      DataTypeTransformer types)
      throws ReflectiveOperationException {
    _transforms = transforms;
    _filter = filter == null ? null : MethodHandles.publicLookup().bind(filter, "evaluate",
        MethodType.methodType(Object.class, GenericRow.class));
    _convertsDropped = convertsDropped;
    _exact = exact;
    _types = types;
  }

  /** Requests a column; for a column as text, Pinot must convert the text to the same value. */
  public void request(String column, String storedType, boolean asText) {
    _columns.add(column);
    _results.add(new Result(storedType));
    if (asText) {
      _asText.add(column);
    }
  }

  /** Sets a column that functions may read; one that is not set is null. */
  public void put(String column, Argument argument) {
    _arguments.put(column, argument);
  }

  /** Evaluates all rows; exceptions of functions are not caught. */
  public void evaluate(int rows)
      throws CharacterCodingException {
    _dropped = new boolean[rows];
    for (Result result : _results) {
      result.begin(rows);
    }
    for (int row = 0; row < rows; row++) {
      _dropped[row] = evaluate(row, 0);
      Object[] values = values();
      checkOthers(row, values);
      for (int i = 0; i < values.length; i++) {
        if (values[i] != null && _asText.contains(_columns.get(i))) {
          checkText(_columns.get(i), values[i]);
        }
        _results.get(i).add(values[i]);
      }
    }
  }

  /** Evaluates one row, with the other form of each uncertain argument whose bit is set. */
  private boolean evaluate(int row, int others) {
    _row.clear();
    int uncertain = 0;
    for (Map.Entry<String, Argument> entry : _arguments.entrySet()) {
      Object value = entry.getValue().get(row);
      Object other = others == 0 ? null : entry.getValue().other(row);
      if (other != null && (others >> uncertain++ & 1) == 1) {
        value = other;
      }
      _row.putValue(entry.getKey(), value);
    }
    _transforms.transform(_row);
    boolean isDropped = _filter != null && isDropped();
    if (!isDropped || _convertsDropped) {
      _exact.accept(_row);
      _types.transform(_row);
    } else {
      _row.clear();
    }
    return isDropped;
  }

  private boolean isDropped() {
    try {
      return Boolean.TRUE.equals(_filter.invoke(_row));
    } catch (RuntimeException | Error error) {
      throw error;
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private Object[] values() {
    Object[] values = new Object[_columns.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = _row.getValue(_columns.get(i));
    }
    return values;
  }

  private void checkOthers(int row, Object[] values) {
    int uncertain = 0;
    for (Argument argument : _arguments.values()) {
      uncertain += argument.other(row) == null ? 0 : 1;
    }
    if (uncertain > MAX_UNCERTAIN) {
      throw new IllegalStateException("too many numbers may be written with or without a fraction");
    }
    for (int others = 1; others < 1 << uncertain; others++) {
      if (evaluate(row, others) != _dropped[row] || !Objects.deepEquals(values(), values)) {
        throw new IllegalStateException("the result depends on whether a number is written with a fraction");
      }
    }
  }

  private void checkText(String column, Object value) {
    if (!value.equals(ofText(_exact, _types, column, value.toString()))) {
      throw new IllegalStateException("the text of a value of column " + column + " is converted to another value");
    }
  }

  private Object ofText(ExactValues exact, DataTypeTransformer types, String column, String text) {
    _ofTexts.clear();
    _ofTexts.putValue(column, text);
    exact.accept(_ofTexts);
    types.transform(_ofTexts);
    return _ofTexts.getValue(column);
  }

  /** Converts texts of a column and discards the result; exceptions are not caught. */
  public void convert(ExactValues exact, DataTypeTransformer types, String column, Argument texts, int rows) {
    for (int row = 0; row < rows; row++) {
      ofText(exact, types, column, (String) texts.get(row));
    }
  }

  /** Returns which rows the filter drops. */
  public boolean[] dropped() {
    return _dropped;
  }

  /** Returns a requested column. */
  public Result result(String column) {
    return _results.get(_columns.indexOf(column));
  }
}
