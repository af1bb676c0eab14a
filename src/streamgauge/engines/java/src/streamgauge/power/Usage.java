package streamgauge.power;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import streamgauge.Form;
import streamgauge.Json;

/** The sum of some readings, and their number. */
public record Usage(long watts, long records) {
  public static final Form<Usage> FORM = new Form<>(Usage::write, Usage::read, true);

  public static final Usage NONE = new Usage(0, 0);

  public Usage add(long reading) {
    return new Usage(watts + reading, records + 1);
  }

  public Usage plus(Usage other) {
    return new Usage(watts + other.watts, records + other.records);
  }

  public Usage minus(Usage other) {
    return new Usage(watts - other.watts, records - other.records);
  }

  /** The result of a sensor. */
  public byte[] ofSensor(long sensor, long windowEndMs) {
    return toJson(json -> json.writeNumberField("sensor", sensor), windowEndMs);
  }

  /** The result of a sensor and second modulo {@link Reading#SLOTS}. */
  public byte[] ofSlot(long sensor, long slot, long windowEndMs) {
    return toJson(json -> {
      json.writeNumberField("sensor", sensor);
      json.writeNumberField("slot", slot);
    }, windowEndMs);
  }

  /** The result of a group of a tree. */
  public byte[] ofGroup(int level, long group, long windowEndMs) {
    return toJson(json -> {
      json.writeNumberField("level", level);
      json.writeNumberField("group", group);
    }, windowEndMs);
  }

  private byte[] toJson(Json.Fields key, long windowEndMs) {
    return Json.object(json -> {
      key.write(json);
      json.writeNumberField("window_end_ms", windowEndMs);
      json.writeNumberField("watts", watts);
      json.writeNumberField("records", records);
    });
  }

  public void write(DataOutput out) throws IOException {
    out.writeLong(watts);
    out.writeLong(records);
  }

  public static Usage read(DataInput in) throws IOException {
    return new Usage(in.readLong(), in.readLong());
  }
}
