package streamgauge.power;

import streamgauge.Json;
import streamgauge.Text;

/** A reading: its number, its event time in milliseconds, its sensor and its watts, separated by tabs. */
public final class Reading {
  /** A sensor has a key for each second modulo this where windows overlap. */
  public static final long SLOTS = 7;

  private static final long SECOND_MS = 1000;

  private Reading() {}

  public static long eventMs(byte[] record) {
    return field(record, 1);
  }

  public static long sensor(byte[] record) {
    return field(record, 2);
  }

  public static long watts(byte[] record) {
    return field(record, 3);
  }

  /** The second of the event time, modulo {@link #SLOTS}. */
  public static long slot(byte[] record) {
    return eventMs(record) / SECOND_MS % SLOTS;
  }

  public static byte[] toJson(byte[] record) {
    return Json.object(json -> {
      json.writeNumberField("sensor", sensor(record));
      json.writeNumberField("event_ms", eventMs(record));
      json.writeNumberField("watts", watts(record));
    });
  }

  private static long field(byte[] record, int index) {
    return Text.number(Text.field(record, '\t', index));
  }
}
