package streamgauge.flink.games;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.games.Event;

/**
 * Purchases and ads of the same user and gem pack in a window. Flink's own window join does the same, but does not tell
 * its function which window it is.
 */
public final class Join implements Program {
  /** Number, user, gem pack, and the price or {@link #AD}. */
  private static final TypeInformation<Tuple4<Long, Integer, Integer, Integer>> EVENT =
      Types.TUPLE(Types.LONG, Types.INT, Types.INT, Types.INT);

  private static final int AD = -1;

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    DataStream<Tuple4<Long, Integer, Integer, Integer>> purchases =
        Windows.events(environment, job, "purchases").map(record -> event(record.f1, Event.price(record.f1)), EVENT);
    DataStream<Tuple4<Long, Integer, Integer, Integer>> ads =
        Windows.events(environment, job, "ads").map(record -> event(record.f1, AD), EVENT);
    return purchases.union(ads)
        .keyBy(event -> (long) event.f1 << Integer.SIZE | event.f2, Types.LONG)
        .window(Windows.of(job))
        .apply((key, window, events, out) -> pairs(window, events, out), Topics.RECORD);
  }

  private static Tuple4<Long, Integer, Integer, Integer> event(byte[] record, int price) {
    return Tuple4.of(Event.nSeq(record), Event.user(record), Event.gemPack(record), price);
  }

  private static void pairs(TimeWindow window, Iterable<Tuple4<Long, Integer, Integer, Integer>> events,
      Collector<Tuple2<byte[], byte[]>> out) {
    List<Tuple4<Long, Integer, Integer, Integer>> purchases = new ArrayList<>();
    List<Long> ads = new ArrayList<>();
    for (Tuple4<Long, Integer, Integer, Integer> event : events) {
      if (event.f3 == AD) {
        ads.add(event.f0);
      } else {
        purchases.add(event);
      }
    }
    for (Tuple4<Long, Integer, Integer, Integer> purchase : purchases) {
      for (long ad : ads) {
        byte[] pair = Event.pair(window.getEnd(), purchase.f0, ad, purchase.f1, purchase.f2, purchase.f3);
        out.collect(Topics.result(String.valueOf(purchase.f2), pair));
      }
    }
  }
}
