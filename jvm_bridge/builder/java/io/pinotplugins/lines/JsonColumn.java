package io.pinotplugins.lines;

import io.pinotplugins.arrays.Lists;
import io.pinotplugins.arrays.Numbers;
import io.pinotplugins.arrays.Texts;
import io.pinotplugins.arrays.Values;
import java.util.function.Consumer;

/** Reads the values of a key, all of one type, or the items of its lists. */
final class JsonColumn {
  /** The values, refilled for each batch. */
  final Values values;
  /** The number of the last row that has the key. */
  long row = -1;
  private final Consumer<JsonScanner> _reader;

  private JsonColumn(Values values, Consumer<JsonScanner> reader) {
    this.values = values;
    _reader = reader;
  }

  /**
   * Returns the reader of a key's values.
   *
   * @param type BOOLEAN, INT, LONG, DOUBLE or STRING
   * @param isExact whether a whole number that is a double must be exact
   */
  static JsonColumn of(String type, boolean isExact) {
    switch (type) {
      case "BOOLEAN":
        Numbers.Booleans booleans = new Numbers.Booleans();
        return new JsonColumn(booleans, scanner -> booleans.add(scanner.word()));
      case "INT":
        Numbers.Ints ints = new Numbers.Ints();
        return new JsonColumn(ints, scanner -> {
          long value = scanner.whole();
          if ((int) value != value) {
            throw new UnsuitableException("a number that is too large");
          }
          ints.add((int) value);
        });
      case "LONG":
        Numbers.Longs longs = new Numbers.Longs();
        return new JsonColumn(longs, scanner -> longs.add(scanner.whole()));
      case "DOUBLE":
        Numbers.Doubles doubles = new Numbers.Doubles();
        return new JsonColumn(doubles, scanner -> doubles.add(scanner.number(isExact)));
      default:
        Texts texts = new Texts();
        return new JsonColumn(texts, scanner -> scanner.text(texts));
    }
  }

  /** Returns the reader of lists. */
  static JsonColumn ofLists(JsonColumn items) {
    Lists lists = new Lists(items.values);
    return new JsonColumn(lists, scanner -> {
      scanner.expect('[');
      if (scanner.next() == ']') {
        scanner.expect(']');
      } else {
        do {
          items.read(scanner);
        } while (scanner.goesOn(']'));
      }
      lists.end();
    });
  }

  /** Adds the next value. */
  void read(JsonScanner scanner) {
    if (scanner.next() == 'n') {
      scanner.word();
      values.addNull();
    } else {
      _reader.accept(scanner);
    }
  }
}
