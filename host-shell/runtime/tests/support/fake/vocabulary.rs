//! The platform's words: each is noted, perhaps failed, and enqueued or done.
//!

use std::collections::VecDeque;

use tenon_core::area::BUSY;
use tenon_core::vocabulary::{
    ContextEvent, ContextOps, DeviceImages, DeviceOwnership, EventId, HiddenStream, LaunchOps, MemoryKind, OrderOps,
    PinnedId, ResourceOps, StreamId, VendorError,
};

use super::{Call, Event, FakePlatform, Stream, Task};

impl ContextOps for FakePlatform {
    fn current_device(&mut self) -> Result<i32, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::CurrentDevice)?;
        fake.current_device.ok_or(VendorError { code: 107_002, call: "current_device", is_device_lost: false })
    }

    fn operator_timeout_ms(&mut self) -> Result<u32, VendorError> {
        self.fake().call(Call::OperatorTimeout).map(|()| 3000)
    }

    fn create_stream(&mut self, role: HiddenStream) -> Result<StreamId, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::CreateStream(role))?;
        let id = fake.new_id();
        let stream = match role {
            HiddenStream::Aicpu => Stream::Aicpu,
            HiddenStream::Aicore => Stream::Aicore,
        };
        fake.streams.insert(id, (stream, VecDeque::new()));
        Ok(StreamId::from_bits(id).unwrap())
    }

    fn destroy_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::DestroyStream(role))?;
        fake.streams.remove(&stream.to_bits());
        Ok(())
    }

    fn create_event(&mut self, role: ContextEvent) -> Result<EventId, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::CreateEvent(role))?;
        let id = fake.new_id();
        fake.events.insert(id, Event { role: Some(role), ..Event::default() });
        Ok(EventId::from_bits(id).unwrap())
    }

    fn destroy_event(&mut self, event: EventId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.event(event);
        fake.call(Call::DestroyEvent(role))?;
        fake.events.remove(&event.to_bits());
        Ok(())
    }
}

impl OrderOps for FakePlatform {
    fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let call = Call::Wait(fake.stream(stream), fake.event(event));
        fake.call(call)?;
        let serial = fake.events[&event.to_bits()].recorded;
        fake.enqueue(stream, Task::Wait { event: event.to_bits(), serial });
        Ok(())
    }

    fn record_event(&mut self, event: EventId, stream: StreamId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let call = Call::Record(fake.stream(stream), fake.event(event));
        fake.call(call)?;
        let recorded = &mut fake.events.get_mut(&event.to_bits()).unwrap().recorded;
        *recorded += 1;
        let serial = *recorded;
        fake.enqueue(stream, Task::Record { event: event.to_bits(), serial });
        Ok(())
    }
}

impl LaunchOps for FakePlatform {
    fn launch_aicpu(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::LaunchAicpu(role))?;
        fake.enqueue(stream, Task::Packet(packet.to_vec()));
        Ok(())
    }

    fn launch_aicore(&mut self, stream: StreamId, _area: u64) -> Result<(), VendorError> {
        if let Some(gate) = &self.gate {
            gate.reached.wait();
            gate.opened.wait();
        }
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::LaunchAicore(role))?;
        fake.enqueue(stream, Task::Nothing);
        Ok(())
    }

    fn cancel(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::Cancel(role))?;
        fake.enqueue(stream, Task::Cancel { area });
        Ok(())
    }
}

impl ResourceOps for FakePlatform {
    fn load_images(&mut self, _images: DeviceImages<'_>) -> Result<(), VendorError> {
        self.fake().call(Call::LoadImages)
    }

    fn allocate_device(&mut self, kind: MemoryKind, bytes: u64, align: u64) -> Result<u64, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::Allocate(kind))?;
        let skew = if kind == MemoryKind::Callable { 32 } else { 0 };
        let address = fake.next_address.next_multiple_of(align) + skew;
        // A gap, so that a copy past an end is found.
        fake.next_address = address + bytes + 4096;
        // What was there before is never zero by chance.
        fake.memory.insert(address, (kind, vec![0xA5; usize::try_from(bytes).unwrap()]));
        Ok(address)
    }

    fn free_device(&mut self, kind: MemoryKind, address: u64) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::Free(kind))?;
        let freed = fake.memory.remove(&address).expect("memory that lives");
        assert_eq!(freed.0, kind);
        Ok(())
    }

    fn allocate_pinned(&mut self, bytes: usize) -> Result<PinnedId, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::AllocatePinned)?;
        let id = fake.new_id();
        fake.pinned.insert(id, vec![0xA5; bytes]);
        Ok(PinnedId::from_bits(id).unwrap())
    }

    fn free_pinned(&mut self, pinned: PinnedId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::FreePinned)?;
        assert!(fake.pinned.remove(&pinned.to_bits()).is_some(), "pinned memory that lives");
        Ok(())
    }

    fn write_pinned(&mut self, pinned: PinnedId, offset: usize, bytes: &[u8]) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::WritePinned)?;
        fake.pinned.get_mut(&pinned.to_bits()).unwrap()[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn copy_to_device(
        &mut self,
        stream: StreamId,
        device: u64,
        pinned: PinnedId,
        offset: usize,
        bytes: usize,
    ) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::Copy(role))?;
        fake.enqueue(stream, Task::Copy { device, pinned: pinned.to_bits(), offset, bytes });
        Ok(())
    }

    fn register_area(&mut self, area: u64, context_generation: u64) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::RegisterArea)?;
        fake.registered.push((area, context_generation));
        Ok(())
    }

    fn read_area(&mut self, area: u64, offset: u64, out: &mut [u8]) -> Result<bool, VendorError> {
        let mut fake = self.fake();
        fake.call(Call::ReadArea)?;
        if fake.is_blind {
            return Ok(false);
        }
        out.copy_from_slice(fake.at(area + offset, out.len()));
        Ok(true)
    }
}

impl DeviceOwnership for FakePlatform {
    fn set_device(&mut self, device: i32) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::SetDevice)?;
        fake.owned_devices.push(device);
        Ok(())
    }

    fn reset_device(&mut self, device: i32) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::ResetDevice)?;
        let owned = fake.owned_devices.iter().position(|owned| *owned == device).expect("a device that was taken");
        fake.owned_devices.remove(owned);
        Ok(())
    }

    fn launch_program(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::LaunchProgram(role))?;
        fake.enqueue(stream, Task::Packet(packet.to_vec()));
        Ok(())
    }

    fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        let mut fake = self.fake();
        let role = fake.stream(stream);
        fake.call(Call::Synchronize(role))?;
        fake.drain();
        let Some(answer) = fake.refuse_next_run.take_if(|_| role == Stream::Aicpu) else { return Ok(()) };
        let line = fake.area() + BUSY;
        let refusals = u32::try_from(fake.word(line + 8)).unwrap();
        if refusals == 0 {
            fake.poke(line + 4, answer);
        }
        fake.poke(line + 8, refusals + 1);
        Err(VendorError { code: 507_018, call: "synchronize_stream", is_device_lost: false })
    }

    fn copy_in(&mut self, device: u64, host: &[u8]) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::CopyIn)?;
        fake.at_mut(device, host.len()).copy_from_slice(host);
        Ok(())
    }

    fn copy_out(&mut self, host: &mut [u8], device: u64) -> Result<(), VendorError> {
        let mut fake = self.fake();
        fake.call(Call::CopyOut)?;
        host.copy_from_slice(fake.at(device, host.len()));
        Ok(())
    }
}
