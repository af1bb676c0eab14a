package streamgauge.flink.streambench;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.streambench.Counts;

/**
 * The number of distinct values of a field so far. Each task finds the new values among its own; one task counts them.
 */
public final class Distinctcount implements Program {
  private static final String KEY = "distinct";

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    int field = (int) job.parameter("field");
    return Topics.spread(environment, job)
        .map(record -> new String(Text.field(record.f1, '\t', field), StandardCharsets.UTF_8), Types.STRING)
        .name("values")
        .keyBy(value -> value, Types.STRING)
        .filter(new OnlyNew())
        .name("new")
        .keyBy(value -> KEY, Types.STRING)
        .map(new Count(), Count.COUNTED)
        .name("count")
        .map(counted -> Topics.result(KEY, Counts.ofDistinct(counted.f1)), Topics.RECORD);
  }

  private static final class OnlyNew extends RichFilterFunction<String> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<Boolean> seen;

    @Override
    public void open(OpenContext context) {
      seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.BOOLEAN));
    }

    @Override
    public boolean filter(String value) throws Exception {
      if (seen.value() != null) {
        return false;
      }
      seen.update(true);
      return true;
    }
  }
}
