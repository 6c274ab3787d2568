package io.pinotplugins.rows;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.pinot.spi.data.FieldSpec;
import org.apache.pinot.spi.data.readers.GenericRow;

/**
 * Converts the values of rows to the types of the table's columns, so that Pinot's {@code DataTypeTransformer}, which
 * would change values that do not fit, has nothing left to do.
 */
public final class ExactValues implements Consumer<GenericRow> {
  private final List<ExactColumn> _columns = new ArrayList<>();
  private final Set<String> _names = new LinkedHashSet<>();

  /**
   * @param columns the table's columns
   * @param computed names of those that a transform of the table fills
   * @param zone time zone of texts in columns of type TIMESTAMP
   */
  public ExactValues(Collection<FieldSpec> columns, Set<String> computed, String zone) {
    TimestampText texts = new TimestampText(zone);
    for (FieldSpec column : columns) {
      _columns.add(new ExactColumn(column, computed.contains(column.getName()), texts));
      _names.add(column.getName());
    }
  }

  /** Returns the names of the columns. */
  public Set<String> names() {
    return _names;
  }

  /** Converts a row in place. */
  @Override
  public void accept(GenericRow row) {
    for (ExactColumn column : _columns) {
      Object value = row.getValue(column.name);
      if (value != null) {
        row.putValue(column.name, column.exact(value));
      }
    }
  }
}
