package streamgauge.flink.games;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import streamgauge.Job;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.games.Event;

/** The revenue of each gem pack and window: summed up record by record, or from all records when the window ends. */
public final class Aggregation implements Program {
  private static final TypeInformation<Tuple2<Integer, Integer>> PURCHASE = Types.TUPLE(Types.INT, Types.INT);

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    WindowedStream<Tuple2<Integer, Integer>, Integer, TimeWindow> windows =
        Windows.events(environment, job, "purchases")
            .map(record -> Tuple2.of(Event.gemPack(record.f1), Event.price(record.f1)), PURCHASE)
            .keyBy(purchase -> purchase.f0, Types.INT)
            .window(Windows.of(job));
    if (job.textParameter("evaluation").equals("recomputed")) {
      return windows.<Tuple2<byte[], byte[]>>apply((gemPack, window, purchases, out) -> {
        long revenue = 0;
        for (Tuple2<Integer, Integer> purchase : purchases) {
          revenue += purchase.f1;
        }
        out.collect(result(gemPack, window, revenue));
      }, Topics.RECORD);
    }
    return windows.aggregate(new Revenue(),
        (gemPack, window, revenues, out)
            -> out.collect(result(gemPack, window, revenues.iterator().next())),
        Types.LONG, Topics.RECORD);
  }

  private static Tuple2<byte[], byte[]> result(int gemPack, TimeWindow window, long revenue) {
    return Topics.result(String.valueOf(gemPack), Event.revenue(gemPack, window.getEnd(), revenue));
  }

  private static final class Revenue implements AggregateFunction<Tuple2<Integer, Integer>, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple2<Integer, Integer> purchase, Long revenue) {
      return revenue + purchase.f1;
    }

    @Override
    public Long getResult(Long revenue) {
      return revenue;
    }

    @Override
    public Long merge(Long one, Long other) {
      return one + other;
    }
  }
}
