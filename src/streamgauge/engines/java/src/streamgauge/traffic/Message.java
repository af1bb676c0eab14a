package streamgauge.traffic;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import streamgauge.Form;
import streamgauge.Json;

/**
 * One traffic message. A missing field is null or {@link #ABSENT}: flow messages have no speed, and vice versa.
 */
public record Message(long nSeq, String id, String lane, int lanes, String timestamp, int flow, int speed, int period,
    int accuracy, int latE6, int lonE6) {
  public static final Form<Message> FORM = new Form<>(Message::write, Message::read, true);

  public static final int ABSENT = Integer.MIN_VALUE;

  public boolean isFlow() {
    return flow != ABSENT;
  }

  public static Message parse(byte[] json) {
    long nSeq = ABSENT;
    String id = null;
    String lane = null;
    int lanes = ABSENT;
    String timestamp = null;
    int flow = ABSENT;
    int speed = ABSENT;
    int period = ABSENT;
    int accuracy = ABSENT;
    int latE6 = ABSENT;
    int lonE6 = ABSENT;
    try (JsonParser parser = Json.FACTORY.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new IllegalArgumentException("not a message: " + new String(json, StandardCharsets.UTF_8));
      }
      for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
        if (parser.nextToken() == JsonToken.VALUE_NULL) {
          continue;
        }
        switch (name) {
          case "n_seq" -> nSeq = parser.getLongValue();
          case "id" -> id = parser.getText();
          case "lane" -> lane = parser.getText();
          case "lanes" -> lanes = parser.getIntValue();
          case "timestamp" -> timestamp = parser.getText();
          case "flow" -> flow = parser.getIntValue();
          case "speed" -> speed = parser.getIntValue();
          case "period" -> period = parser.getIntValue();
          case "accuracy" -> accuracy = parser.getIntValue();
          case "lat_e6" -> latE6 = parser.getIntValue();
          case "lon_e6" -> lonE6 = parser.getIntValue();
          default -> parser.skipChildren();
        }
      }
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
    return new Message(nSeq, id, lane, lanes, timestamp, flow, speed, period, accuracy, latE6, lonE6);
  }

  /** All fields that are present. */
  public byte[] toJson() {
    return Json.object(json -> {
      if (nSeq != ABSENT) {
        json.writeNumberField("n_seq", nSeq);
      }
      write(json, "id", id);
      write(json, "lane", lane);
      write(json, "lanes", lanes);
      write(json, "timestamp", timestamp);
      write(json, "flow", flow);
      write(json, "speed", speed);
      write(json, "period", period);
      write(json, "accuracy", accuracy);
      write(json, "lat_e6", latE6);
      write(json, "lon_e6", lonE6);
    });
  }

  private static void write(JsonGenerator json, String name, String value) throws IOException {
    if (value != null) {
      json.writeStringField(name, value);
    }
  }

  private static void write(JsonGenerator json, String name, int value) throws IOException {
    if (value != ABSENT) {
      json.writeNumberField(name, value);
    }
  }

  /** Writes the compact form; string fields must not be null. */
  public void write(DataOutput out) throws IOException {
    out.writeLong(nSeq);
    out.writeUTF(id);
    out.writeUTF(lane);
    out.writeInt(lanes);
    out.writeUTF(timestamp);
    out.writeInt(flow);
    out.writeInt(speed);
    out.writeInt(period);
    out.writeInt(accuracy);
    out.writeInt(latE6);
    out.writeInt(lonE6);
  }

  public static Message read(DataInput in) throws IOException {
    return new Message(in.readLong(), in.readUTF(), in.readUTF(), in.readInt(), in.readUTF(), in.readInt(),
        in.readInt(), in.readInt(), in.readInt(), in.readInt(), in.readInt());
  }
}
