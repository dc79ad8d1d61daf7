package io.kcp4j;

import org.junit.jupiter.api.Test;

class AllocationSitesTest {

  @Test
  void eachClassThatAllocatesIsListedWithItsCharge() {
    AllocationSites.check(
        "/allocation-sites.txt",
        "io.kcp4j",
        "io.kcp4j.fec",
        "io.kcp4j.lanes",
        "io.kcp4j.internal.admission",
        "io.kcp4j.internal.arq",
        "io.kcp4j.internal.buffer",
        "io.kcp4j.internal.extension",
        "io.kcp4j.internal.fec",
        "io.kcp4j.internal.lanes",
        "io.kcp4j.internal.memory",
        "io.kcp4j.internal.path",
        "io.kcp4j.internal.receive",
        "io.kcp4j.internal.recovery",
        "io.kcp4j.internal.send",
        "io.kcp4j.internal.session",
        "io.kcp4j.internal.wire");
  }
}
