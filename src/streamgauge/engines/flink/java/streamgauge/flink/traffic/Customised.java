package streamgauge.flink.traffic;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import streamgauge.Job;
import streamgauge.flink.CompactType;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.traffic.Message;
import streamgauge.traffic.Point;
import streamgauge.traffic.Stage;

/** The stateful stages, in one function that manages all state itself. */
abstract class Customised implements Program {
  abstract Stage stage(Job job);

  /** A record goes to its point's task unparsed: its key is the point's id. */
  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    return Topics.timed(environment, job, "flow", 0, 0)
        .union(Topics.timed(environment, job, "speed", 0, 0))
        .keyBy(record -> new String(record.f0, StandardCharsets.UTF_8), Types.STRING)
        .process(new Points(stage(job)), Topics.RECORD)
        .name("points");
  }

  private static final class Points
      extends KeyedProcessFunction<String, Tuple2<byte[], byte[]>, Tuple2<byte[], byte[]>> {
    private static final long serialVersionUID = 1L;

    private final Stage stage;
    private transient ValueState<Point> points;

    Points(Stage stage) {
      this.stage = stage;
    }

    @Override
    public void open(OpenContext context) {
      points = getRuntimeContext().getState(new ValueStateDescriptor<>("point", new CompactType<>(Point.class)));
    }

    @Override
    public void processElement(Tuple2<byte[], byte[]> record, Context context, Collector<Tuple2<byte[], byte[]>> out)
        throws Exception {
      Point point = points.value();
      if (point == null) {
        point = new Point();
      }
      byte[] joined = point.take(stage, Message.parse(record.f1), context.timestamp());
      if (joined != null) {
        out.collect(Tuple2.of(record.f0, joined));
      }
      settle(point, context.getCurrentKey(), context.timerService(), out);
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Tuple2<byte[], byte[]>> out)
        throws Exception {
      Point point = points.value();
      if (point != null) {
        point.setTimerMs(Point.NEVER);
        settle(point, context.getCurrentKey(), context.timerService(), out);
      }
    }

    private void settle(Point point, String id, TimerService timers, Collector<Tuple2<byte[], byte[]>> out)
        throws Exception {
      for (byte[] result : point.settle(stage, id, timers.currentWatermark())) {
        out.collect(Topics.result(id, result));
      }
      // A timer that fires too early sets the next one, which is cheaper than moving it with every record.
      long dueMs = point.dueMs(stage);
      if (dueMs < point.timerMs()) {
        timers.registerEventTimeTimer(dueMs);
        point.setTimerMs(dueMs);
      }
      if (point.isEmpty()) {
        points.clear();
      } else {
        points.update(point);
      }
    }
  }
}
