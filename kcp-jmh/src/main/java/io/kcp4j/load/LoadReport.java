package io.kcp4j.load;

/** What answers each line {@code mark}. Event loops add to it, one other thread answers. */
interface LoadReport {

  /** A line of JSON. What it reports of the time since the previous mark begins anew. */
  String toJson();
}
