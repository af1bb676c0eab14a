package streamgauge.games;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import streamgauge.Json;

/** A purchase or an ad: fixed-width little-endian numbers, of which an ad has no price. */
public final class Event {
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private Event() {}

  public static long nSeq(byte[] record) {
    return (long) LONG.get(record, 0);
  }

  public static long eventMs(byte[] record) {
    return (long) LONG.get(record, 8);
  }

  public static int user(byte[] record) {
    return (int) INT.get(record, 16);
  }

  public static int gemPack(byte[] record) {
    return (int) INT.get(record, 20);
  }

  /** Of a purchase. */
  public static int price(byte[] record) {
    return (int) INT.get(record, 24);
  }

  /** The revenue of a gem pack in the window that ends at {@code windowEndMs}. */
  public static byte[] revenue(int gemPack, long windowEndMs, long revenue) {
    return Json.object(json -> {
      json.writeNumberField("gem_pack", gemPack);
      json.writeNumberField("window_end_ms", windowEndMs);
      json.writeNumberField("revenue", revenue);
    });
  }

  /** A purchase and an ad of the same user and gem pack, by their numbers. */
  public static byte[] pair(long windowEndMs, long purchase, long ad, int user, int gemPack, int price) {
    return Json.object(json -> {
      json.writeNumberField("window_end_ms", windowEndMs);
      json.writeNumberField("purchase", purchase);
      json.writeNumberField("ad", ad);
      json.writeNumberField("user", user);
      json.writeNumberField("gem_pack", gemPack);
      json.writeNumberField("price", price);
    });
  }
}
