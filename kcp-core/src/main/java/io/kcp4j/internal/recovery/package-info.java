/** Loss detection, round-trip times, the probe timeout and delivery rates. */
package io.kcp4j.internal.recovery;
