package io.pinotplugins.columns;

import java.lang.reflect.Field;

/** Reads fields of Pinot's driver that have no getter. */
public final class PrivateField {
  private PrivateField() {
  }

  /** Returns whether an object has a field, in its class or a superclass. */
  public static boolean has(Object owner, String name) {
    return find(owner, name) != null;
  }

  /** Returns the value of a field. */
  public static Object of(Object owner, String name) {
    Field field = find(owner, name);
    if (field == null) {
      throw new IllegalStateException(owner.getClass().getName() + " has no field " + name);
    }
    try {
      field.setAccessible(true);
      return field.get(owner);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Field find(Object owner, String name) {
    for (Class<?> type = owner.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          return field;
        }
      }
    }
    return null;
  }
}
