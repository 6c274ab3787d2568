package io.pinotplugins.columns.v1;

import io.pinotplugins.columns.ColumnCreators;
import io.pinotplugins.columns.PrivateField;
import java.util.Collection;
import java.util.Map;
import java.util.function.Function;
import org.apache.pinot.segment.local.segment.creator.impl.nullvalue.NullValueVectorCreator;
import org.apache.pinot.segment.spi.index.IndexCreator;

/** The creators of Pinot 1: a list for each column, whose members accept both values and ids. */
public final class DriverCreators implements Function<String, ColumnCreators> {
  private final Object _driver;

  public DriverCreators(Object driver) {
    _driver = driver;
  }

  @Override
  public ColumnCreators apply(String column) {
    Object all = PrivateField.of(_driver, "_indexCreator");
    if (PrivateField.has(all, "_colIndexes")) { // since 1.5
      Object own = ((Map<?, ?>) PrivateField.of(all, "_colIndexes")).get(column);
      return new UniformCreators(PrivateField.of(own, "_dictionaryCreator") != null,
          creators(PrivateField.of(own, "_indexCreators")),
          (NullValueVectorCreator) PrivateField.of(own, "_nullValueVectorCreator"));
    }
    Object own = ((Map<?, ?>) PrivateField.of(all, "_creatorsByColAndIndex")).get(column);
    return new UniformCreators(((Map<?, ?>) PrivateField.of(all, "_dictionaryCreatorMap")).get(column) != null,
        creators(((Map<?, ?>) own).values()),
        (NullValueVectorCreator) ((Map<?, ?>) PrivateField.of(all, "_nullValueVectorCreatorMap")).get(column));
  }

  private static IndexCreator[] creators(Object creators) {
    return ((Collection<?>) creators).toArray(new IndexCreator[0]);
  }
}
