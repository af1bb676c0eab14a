package streamgauge.flink.streambench;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.Text;
import streamgauge.flink.CompactType;
import streamgauge.flink.Program;
import streamgauge.flink.Topics;
import streamgauge.streambench.Summary;

/** Minimum, maximum, sum and mean of a field so far. One task computes them for all records. */
public final class Statistics implements Program {
  private static final String KEY = "statistics";

  @Override
  public DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    int field = (int) job.parameter("field");
    return Topics.spread(environment, job)
        .map(record -> Text.number(Text.field(record.f1, ' ', field)), Types.LONG)
        .name("numbers")
        .keyBy(number -> KEY, Types.STRING)
        .map(new Summing(), Topics.RECORD)
        .name("summary");
  }

  private static final class Summing extends RichMapFunction<Long, Tuple2<byte[], byte[]>> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<Summary> summaries;

    @Override
    public void open(OpenContext context) {
      summaries = getRuntimeContext().getState(new ValueStateDescriptor<>("summary", new CompactType<>(Summary.class)));
    }

    @Override
    public Tuple2<byte[], byte[]> map(Long number) throws Exception {
      Summary before = summaries.value();
      Summary summary = (before == null ? Summary.NONE : before).add(number);
      summaries.update(summary);
      return Topics.result(KEY, summary.toJson());
    }
  }
}
