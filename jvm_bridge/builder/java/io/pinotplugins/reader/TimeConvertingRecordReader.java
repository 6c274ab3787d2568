package io.pinotplugins.reader;

import java.io.File;
import java.io.IOException;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.Set;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;

/**
 * Wraps one of Pinot's readers and converts the values of some columns to the units of the table's time
 * columns: Pinot's readers return the number that the file stores, in the file's unit.
 */
public final class TimeConvertingRecordReader implements RecordReader {
    private final RecordReader reader;
    private final String[] names;
    private final long[] perMilli;
    private final long[] multipliers;
    private final long[] divisors;
    private final boolean[] areInt;

    /**
     * The arrays have an element for each column.
     *
     * @param reader the reader, already open
     * @param names names of the columns
     * @param perMilli the number of the file's units in a millisecond; 0 if a unit is longer
     * @param multipliers factors for the file's numbers
     * @param divisors divisors for the products
     * @param areInt whether the column is an INT
     */
    public TimeConvertingRecordReader(RecordReader reader, String[] names, long[] perMilli,
            long[] multipliers, long[] divisors, boolean[] areInt) {
        this.reader = reader;
        this.names = names;
        this.perMilli = perMilli;
        this.multipliers = multipliers;
        this.divisors = divisors;
        this.areInt = areInt;
    }

    @Override
    public void init(File file, Set<String> fields, RecordReaderConfig config) throws IOException {
        reader.init(file, fields, config);
    }

    @Override
    public boolean hasNext() {
        return reader.hasNext();
    }

    @Override
    public GenericRow next() throws IOException {
        return next(new GenericRow());
    }

    @Override
    public GenericRow next(GenericRow reuse) throws IOException {
        GenericRow row = reader.next(reuse);
        for (int i = 0; i < names.length; i++) {
            Object value = row.getValue(names[i]);
            if (value != null) {
                try {
                    row.putValue(names[i], converted(value, i));
                } catch (ArithmeticException e) {
                    throw new RuntimeException("The time is out of range for column: " + names[i], e);
                }
            }
        }
        return row;
    }

    @Override
    public void rewind() throws IOException {
        reader.rewind();
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }

    private Object converted(Object value, int column) {
        if (value instanceof Object[]) {
            Object[] values = (Object[]) value;
            Object[] all = new Object[values.length];
            for (int i = 0; i < values.length; i++) {
                all[i] = converted(values[i], column);
            }
            return all;
        }
        long number;
        if (value instanceof Timestamp && perMilli[column] > 0) {
            // If Pinot's reader converts from the file's unit itself.
            number = Math.multiplyExact(((Timestamp) value).getTime(), perMilli[column]);
        } else if (value instanceof String && perMilli[column] == 0) {
            // A date, which Pinot's Avro reader returns as text since 1.4.
            number = LocalDate.parse((String) value).toEpochDay();
        } else if (value instanceof Long || value instanceof Integer) {
            number = ((Number) value).longValue();
        } else {
            return value;
        }
        number = Math.floorDiv(Math.multiplyExact(number, multipliers[column]), divisors[column]);
        if (areInt[column]) {
            return Math.toIntExact(number);
        }
        return number;
    }
}
